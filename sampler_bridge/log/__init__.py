"""The on-disk log of points that wait to be sent."""
