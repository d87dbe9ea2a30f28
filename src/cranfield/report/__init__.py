"""Values made visible: tables as text, Markdown, LaTeX, CSV and JSON."""
