"""Objects of other libraries, one file for each library; imported only when that library is used."""
