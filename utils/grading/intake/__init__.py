"""Read what a class handed in: archives, rosters, and which file is whose answer to which lesson."""
