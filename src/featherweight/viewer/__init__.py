"""What a robot looks like: pictures, pages, videos and live views."""
