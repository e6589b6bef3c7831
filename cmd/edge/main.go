// Command edge is the egress proxy.
package main

func main() {}
