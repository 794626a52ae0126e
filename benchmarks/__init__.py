"""Speed and accuracy beside the libraries a user could pick instead: ``make bench``."""
