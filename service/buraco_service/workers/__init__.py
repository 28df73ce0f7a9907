"""`buraco serve --workers N`: N processes on one port, for an operator with one machine of several cores.

A process serves on one core. In Kubernetes one worker for each pod does; on a machine of eight cores the supervisor
replaces eight services, ports and metrics endpoints behind a proxy.
"""
