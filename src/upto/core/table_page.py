"""A small HTML page of tables, without scripts or anything from elsewhere."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from upto.printable import printable

if TYPE_CHECKING:
    from upto.core.table import Table

_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;margin:2em;color:#15191e;background:#fff}"
    "table{border-collapse:collapse;margin:1.5em 0}"
    "caption{text-align:left;font-weight:600;padding:.3em 0}"
    "th,td{text-align:left;padding:.2em .9em;border-bottom:1px solid #e1e4e8}"
    "thead th{border-bottom-color:#565e69}"
)


def table_page(*tables: Table, title: str, text: str = "") -> str:
    """Return a page with a text above tables."""
    shown = f"<p><b>{html.escape(text)}</b></p>\n" if text else ""
    body = "\n".join(table.to_html() for table in tables)
    return (
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        f"<title>{html.escape(printable(title))}</title>\n<style>{_STYLE}</style>\n"
        f"{shown}{body}\n</html>\n"
    )
