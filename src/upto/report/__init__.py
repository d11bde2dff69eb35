"""Render results as HTML reports and figures."""

from upto.report.figures import draw
from upto.report.page import Report

__all__ = ["Report", "draw"]
