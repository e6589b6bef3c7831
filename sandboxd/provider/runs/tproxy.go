package runs

import (
	"fmt"
	"net/netip"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// Offsets in an IPv4 and a TCP header.
const (
	ipv4Destination    = 16
	tcpDestinationPort = 2
)

// redirectToListener adds the rules of the current network namespace. tproxy
// assigns a connection to the listener without translating its addresses, so
// LocalAddr is where the sandbox wanted to go; and it sees forwarded packets
// too, those of a container inside the sandbox. The listener can't be connected
// to by its own address: whatever arrives there was going somewhere else.
func redirectToListener() error {
	c, err := nftables.New()
	if err != nil {
		return fmt.Errorf("open nftables: %w", err)
	}
	listener := netip.MustParseAddrPort(transparentAddr)
	port := binaryutil.BigEndian.PutUint16(listener.Port())
	table := c.AddTable(&nftables.Table{Family: nftables.TableFamilyIPv4, Name: "sallyport"})
	prerouting := c.AddChain(&nftables.Chain{Name: "prerouting", Table: table, Type: nftables.ChainTypeFilter,
		Hooknum: nftables.ChainHookPrerouting, Priority: nftables.ChainPriorityMangle})
	input := c.AddChain(&nftables.Chain{Name: "input", Table: table, Type: nftables.ChainTypeFilter,
		Hooknum: nftables.ChainHookInput, Priority: nftables.ChainPriorityFilter})
	c.AddRule(&nftables.Rule{Table: table, Chain: prerouting, Exprs: append(tcpTo(expr.CmpOpNeq),
		&expr.Immediate{Register: 1, Data: listener.Addr().AsSlice()},
		&expr.Immediate{Register: 2, Data: port},
		&expr.TProxy{Family: byte(nftables.TableFamilyIPv4), TableFamily: byte(nftables.TableFamilyIPv4), RegAddr: 1, RegPort: 2},
	)})
	c.AddRule(&nftables.Rule{Table: table, Chain: input, Exprs: append(tcpTo(expr.CmpOpEq),
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseTransportHeader, Offset: tcpDestinationPort, Len: 2},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: port},
		&expr.Reject{Type: unix.NFT_REJECT_TCP_RST},
	)})
	if err := c.Flush(); err != nil {
		return fmt.Errorf("add nftables rules (needs nft_tproxy and nft_reject): %w", err)
	}
	return nil
}

// tcpTo matches TCP whose destination is in 127/8 (equal) or isn't (not equal).
func tcpTo(loopback expr.CmpOp) []expr.Any {
	return []expr.Any{
		&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: 1},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: []byte{unix.IPPROTO_TCP}},
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: ipv4Destination, Len: 4},
		&expr.Bitwise{SourceRegister: 1, DestRegister: 1, Len: 4, Mask: []byte{255, 0, 0, 0}, Xor: []byte{0, 0, 0, 0}},
		&expr.Cmp{Op: loopback, Register: 1, Data: []byte{127, 0, 0, 0}},
	}
}
