"""What other libraries want to be told in their own objects, a file for each: imported when one of them is at work."""
