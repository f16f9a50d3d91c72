"""The build report: one self-contained page on what was built, what was dropped and why."""

from flows.report.page import report_page, write_report

__all__ = ["report_page", "write_report"]
