"""Faults: races, killed replicas, broken connections, full disks, data of other versions, wrong clocks."""
