"""What is done to text: normal form, masking, shortening, comparing."""
