// SPDX-License-Identifier: Apache-2.0
// Announces communicators. Monitors the host's writes to the exchange memory, and announces a communicator when the last word of its last member has been
// written: its address, and the identity used in packets, a CRC-32C of all members' IP addresses, ports and sessions, and of the number of earlier communicators with the same
// members. Assumes that IP addresses are at least 2**24, and that the words of members are written in ascending order.
//
// A communicator is valid from then on, and replaces one at the same address. One for which the table has no free entry is not announced.
//
// Order: of writes kept. Latency: 2 cycles for a write; 6 more for the last word of a member, including the answer of the exchange memory; for the last word of a communicator
// another 34 for each member, 3 for each table entry, and 16. Throughput: one write in that time, as the host waits. Storage: an address and a CRC for each of Communicators.
// Outputs depend only on registers. Critical path: eight bits of the CRC.
module tw_communicators #(
    parameter int unsigned Communicators = 8,   /// a power of two, 2 to 16
    parameter int unsigned Ranks         = 64,  /// of a communicator, at most 64
    localparam int unsigned IndexBits    = $clog2(Communicators)
) (
    input logic clk_i,
    input logic rst_i,

    input  logic        write_valid_i,  /// from the host
    output logic        write_ready_o,  /// also gates its reads
    input  logic [31:0] write_at_i,
    input  logic [31:0] write_data_i,

    output logic        access_valid_o,  /// reads of the exchange memory, as in tw_exchange_ports
    input  logic        access_ready_i,
    output logic [31:0] access_at_o,
    input  logic        answer_valid_i,
    input  logic [31:0] answer_data_i,

    output logic                 set_valid_o,    /// announces a communicator
    input  logic                 set_ready_i,
    output logic [IndexBits-1:0] set_index_o,
    output logic [         12:0] set_at_o,
    output logic [         31:0] set_identity_o,
    output logic [          7:0] own_o           /// this board's session in the latest one
);
  localparam int unsigned MemberBytes = 24;

  typedef logic [12:0] address_t;
  typedef logic [IndexBits-1:0] index_t;
  typedef struct packed {
    address_t at;
    logic [31:0] crc;  // of its members
  } row_t;
  typedef enum logic [3:0] {
    Idle,
    Track,
    Ask,
    Answer,
    Check,
    Judge,
    Mix,  // adds bytes to the CRC
    Look,  // reads a table entry
    Match,
    Note,
    Close,
    Set
  } state_e;
  typedef enum logic [2:0] {
    Size,
    Rank,
    Ip,
    Port,
    Session,
    Before  // number of communicators with the same members
  } word_e;

  state_e state_q;
  word_e word_q;

  // The host's writes: consecutive members.
  address_t at_q, next_q, port_at_q, last_at_q, begin_q;
  logic large_q, empty_q, inside_q, follows_q, is_port_q, is_last_q, tracks_q, ports_fit_q;
  logic [8:0] members_q;

  assign write_ready_o = state_q == Idle;

  always_ff @(posedge clk_i) begin
    if (state_q == Idle) begin
      at_q <= write_at_i[12:0];
      large_q <= write_data_i[31:24] != 0;
      empty_q <= write_data_i == 0;
      inside_q <= write_at_i[31:13] == 0 && write_at_i[1:0] == 0;
      follows_q <= write_at_i[12:0] == next_q && tracks_q;
      is_port_q <= write_at_i[12:0] == port_at_q;
      is_last_q <= write_at_i[12:0] == last_at_q && tracks_q;
    end
    if (state_q == Track && inside_q) begin
      if (large_q) begin
        members_q <= follows_q ? members_q + 9'd1 : 9'd1;
        next_q <= at_q + 13'(MemberBytes);
        port_at_q <= at_q + 13'd4;
        last_at_q <= at_q + 13'd20;
        if (!follows_q) begin_q <= at_q - 13'd8;
        if (!follows_q) ports_fit_q <= 1'b1;
      end else if (is_port_q && empty_q) begin
        ports_fit_q <= 1'b0;
      end
    end
    if (rst_i) tracks_q <= 1'b0;
    else if (state_q == Track && inside_q && large_q) tracks_q <= 1'b1;
  end

  // Words read from the exchange memory.
  address_t read_at_q, next_at_q;
  logic [3:0] stride_q;
  logic [31:0] data_q, crc_q, members_crc_q;
  logic [5:0] rank_q, member_q;
  logic [2:0] bytes_q;  // remaining bytes, minus one
  logic fits_q, is_member_q, last_member_q, few_q, mixed_q;

  always_ff @(posedge clk_i) begin
    few_q <= 32'(members_q) <= Ranks && begin_q[12:3] != 0 && ports_fit_q;
    fits_q <= data_q == 32'(members_q);
    is_member_q <= data_q[31:7] == 0 && 9'(data_q[6:0]) < members_q;
    mixed_q <= state_q == Mix && bytes_q == 3'd1;
    last_member_q <= 9'(member_q) + 9'd1 == members_q;
  end

  assign access_valid_o = state_q == Ask;
  assign access_at_o = 32'(read_at_q);

  // CRC-32C extended by one byte, as in tw_crc32.
  function automatic logic [31:0] crc_of(logic [31:0] crc, logic [7:0] data);
    crc_of = crc ^ 32'(data);
    for (int unsigned i = 0; i < 8; i++) crc_of = (crc_of >> 1) ^ (crc_of[0] ? 32'h82F6_3B78 : '0);
  endfunction

  // The table.
  localparam int unsigned RowBits = $bits(row_t);
  logic [RowBits-1:0] rows_q[Communicators];
  row_t row_q;
  logic [Communicators-1:0] known_q;
  index_t place_q, index_q;
  logic known_place_q, same_at_q, earlier_q, same_crc_q, found_q, free_q;
  logic [IndexBits:0] before_q;
  wire last_place = &place_q;

  assign set_valid_o = state_q == Set;
  assign set_index_o = index_q;
  assign set_at_o = begin_q;
  assign set_identity_o = ~crc_q;

  always_ff @(posedge clk_i) begin
    row_q <= row_t'(rows_q[place_q]);
    known_place_q <= known_q[place_q];
    same_at_q <= row_q.at == begin_q;
    earlier_q <= row_q.at < begin_q;
    same_crc_q <= row_q.crc == crc_q;
    if (set_valid_o && set_ready_i) rows_q[index_q] <= {begin_q, members_crc_q};
    if (rst_i) known_q <= '0;
    else if (set_valid_o && set_ready_i) known_q[index_q] <= 1'b1;
  end

  always_ff @(posedge clk_i) begin
    stride_q  <= word_q == Port ? 4'd12 : word_q == Session ? 4'd8 : 4'd4;
    next_at_q <= read_at_q + 13'(stride_q);
    unique case (state_q)
      Track: begin
        read_at_q <= begin_q;
        word_q <= Size;
      end
      Answer: data_q <= answer_data_i;
      Judge: begin
        bytes_q <= word_q == Session ? 3'd7 : 3'd3;
        unique case (word_q)
          Size: word_q <= Rank;
          Rank: begin
            word_q   <= Ip;
            rank_q   <= data_q[5:0];
            member_q <= '0;
            crc_q    <= '1;
          end
          Session: if (member_q == rank_q) own_o <= data_q[7:0];
          default: ;
        endcase
        if (word_q inside {Size, Rank}) read_at_q <= next_at_q;
      end
      Mix: begin
        crc_q   <= crc_of(crc_q, data_q[7:0]);
        data_q  <= data_q >> 8;
        bytes_q <= bytes_q - 3'd1;
        if (mixed_q) begin
          read_at_q <= next_at_q;
          unique case (word_q)
            Ip: word_q <= Port;
            Port: word_q <= Session;
            default: begin
              word_q   <= Ip;
              member_q <= member_q + 6'd1;
            end
          endcase
        end
        place_q <= '0;
        found_q <= 1'b0;
        free_q <= 1'b0;
        before_q <= '0;
      end
      Note: begin
        if (known_place_q && same_at_q) begin
          found_q <= 1'b1;
          index_q <= place_q;
        end else if (!known_place_q && !free_q && !found_q) begin
          free_q  <= 1'b1;
          index_q <= place_q;
        end
        if (known_place_q && earlier_q && same_crc_q) before_q <= before_q + 1'b1;
        place_q <= place_q + 1'b1;
      end
      Close: begin
        members_crc_q <= crc_q;
        data_q <= 32'(before_q);
        bytes_q <= 3'd7;
        word_q <= Before;
      end
      default: ;
    endcase
    if (rst_i) own_o <= '0;
    if (rst_i) state_q <= Idle;
    else
      unique case (state_q)
        Idle: if (write_valid_i) state_q <= Track;
        Track: state_q <= inside_q && is_last_q && !large_q ? Ask : Idle;
        Ask: if (access_ready_i) state_q <= Answer;
        Answer: if (answer_valid_i) state_q <= Check;
        Check: state_q <= Judge;
        Judge:
        unique case (word_q)
          Size: state_q <= fits_q && few_q ? Ask : Idle;
          Rank: state_q <= is_member_q ? Ask : Idle;
          default: state_q <= Mix;
        endcase
        Mix:
        if (mixed_q) begin
          if (word_q == Before) state_q <= Set;
          else state_q <= word_q == Session && last_member_q ? Look : Ask;
        end
        Look: state_q <= Match;
        Match: state_q <= Note;
        Note: state_q <= last_place ? Close : Look;
        Close: state_q <= found_q || free_q ? Mix : Idle;
        default: if (set_ready_i) state_q <= Idle;
      endcase
  end
endmodule
