"""What research/compare.py is made of: servers (how each is started), load (the load tool), cases (what is measured on
whom), figures (medians and targets), report (tables), plots."""
