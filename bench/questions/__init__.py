"""Questions in words with their right answers, and the speed of analysts' queries."""
