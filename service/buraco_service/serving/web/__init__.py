"""The web port: Connect, gRPC-Web and Connect-JSON for pages in a browser and for curl, and the page itself.

A call is served by the same code as one over gRPC: `calls` adapts it. Nothing here is imported without a web port.
"""
