// SPDX-License-Identifier: Apache-2.0
// The exchange memory of ACCL's engine: 8 KiB, read and written in words by the host and the engine. An access beyond its end, or not aligned to a
// word, is refused. The word with the identity is constant.
//
// Port 0 is the host's, port 1 the engine's. Two accesses in one cycle both see the memory before either; the host's write is performed first.
//
// Order: kept at each port. Latency: 3 cycles; one more for an engine write that collides with a host write. All words are cleared in the first 2,048 cycles after
// reset. Throughput: one access per cycle at each port; an engine write waits while the host writes. Storage: two block RAMs of 2,048 words. Outputs are registers, or
// depend only on registers. Critical path: from the addresses to the choice of the write.
module tw_exchange_ports (
    input logic clk_i,
    input logic rst_i,

    input logic [31:0] identity_i,  /// constant

    input  logic [1:0]       access_valid_i,
    output logic [1:0]       access_ready_o,
    input  logic [1:0]       access_write_i,
    input  logic [1:0][31:0] access_at_i,      /// byte address
    input  logic [1:0][31:0] access_data_i,
    output logic [1:0]       answer_valid_o,   /// for one cycle; in order, one for each access
    output logic [1:0]       answer_refused_o,
    output logic [1:0][31:0] answer_data_o     /// the word read; 0 for writes and refused accesses
);
  localparam int unsigned Words = 2048;
  localparam int unsigned AddressBits = $clog2(Words);
  localparam logic [AddressBits-1:0] Identity = AddressBits'(Words - 2);

  typedef logic [AddressBits-1:0] address_t;
  typedef struct packed {
    logic write, refused;
    address_t at;
    logic [31:0] data;
  } access_t;

  logic clearing_q;
  address_t clear_q;
  logic [1:0] valid_q, read_q, answers_q, refuses_q, identity_q;
  access_t [1:0] access_q;

  wire [1:0] writes = {valid_q[1] && access_q[1].write, valid_q[0] && access_q[0].write};
  wire waits = writes == '1;
  wire [1:0] accepts = access_valid_i & access_ready_o;

  assign access_ready_o = {!clearing_q && !waits, !clearing_q};

  always_ff @(posedge clk_i) begin
    for (int unsigned p = 0; p < 2; p++)
      if (accepts[p])
        access_q[p] <= '{
            write: access_write_i[p],
            refused: access_at_i[p][31:AddressBits+2] != 0 || access_at_i[p][1:0] != 0,
            at: access_at_i[p][AddressBits+1:2],
            data: access_data_i[p]
        };
    if (rst_i) begin
      clearing_q <= 1'b1;
      clear_q <= '0;
      valid_q <= '0;
    end else begin
      if (clearing_q) clear_q <= clear_q + 1'b1;
      if (clear_q == '1) clearing_q <= 1'b0;
      valid_q <= {accepts[1] || waits, accepts[0]};
    end
  end

  // Only one port writes per cycle.
  wire engine_writes = !writes[0];
  wire stores = clearing_q || (writes != 0 && !access_q[engine_writes].refused);
  wire address_t write_at = clearing_q ? clear_q : access_q[engine_writes].at;
  wire [31:0] write_data = clearing_q ? '0 : access_q[engine_writes].data;

  for (genvar p = 0; p < 2; p++) begin : port
    logic [31:0] words_q[Words];
    logic [31:0] word_q;

    always_ff @(posedge clk_i) begin
      if (stores) words_q[write_at] <= write_data;
      word_q <= words_q[access_q[p].at];
      identity_q[p] <= access_q[p].at == Identity;
      refuses_q[p] <= access_q[p].refused;
      read_q[p] <= !access_q[p].write && !access_q[p].refused;
      answers_q[p] <= valid_q[p] && !(p == 1 && waits) && !rst_i;
      answer_data_o[p] <= !read_q[p] ? '0 : identity_q[p] ? identity_i : word_q;
      answer_refused_o[p] <= refuses_q[p];
      answer_valid_o[p] <= answers_q[p] && !rst_i;
    end
  end
endmodule
