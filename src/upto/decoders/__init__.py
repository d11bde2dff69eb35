"""Decoders that can be linearised: functions, torch modules and programs in files."""
