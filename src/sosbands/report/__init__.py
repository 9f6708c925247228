"""A report to send around: one HTML file that opens offline and says how good the intervals are."""

from sosbands.report.page import render_report, write_report

__all__ = ["render_report", "write_report"]
