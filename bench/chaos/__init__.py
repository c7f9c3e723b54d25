"""Crashes, damage, full disks, clocks that jump: does the next command work?"""
