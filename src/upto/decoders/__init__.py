"""Decoders that can be linearised: functions, torch modules and exported programs."""
