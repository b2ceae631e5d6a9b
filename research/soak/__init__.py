"""What research/soak.py is made of: actors (who comes and goes), samples (what is measured), verdict (what has grown)."""
