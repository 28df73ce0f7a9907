"""What goes wrong on bad days: races, deaths, broken connections, full disks, old data, wrong clocks."""
