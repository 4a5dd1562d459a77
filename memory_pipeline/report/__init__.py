"""A memory as one page: a self-contained HTML file for people (spec Q).

Belongs here: choosing what a page has room for, wording, drawing, the page's own style and script.
Does not: reading a memory (reading/report) and files (cli/report).
"""
