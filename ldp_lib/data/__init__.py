"""Small count tables of public data; README.md says where each comes from."""
