"""Rows for tables, scripts and pages, made from the read models.

Times are seconds since the epoch; a value is null where it is not known. Names and units are the same everywhere.
"""
