"""What is done to text: canonical JSON, masking, shortening, comparing."""
