// SPDX-License-Identifier: Apache-2.0
// Executes config calls: receive buffers from the exchange memory (1), time-out (2), limits of eager messages (3) and of rendezvous (4), and the last part of a reset (0),
// after all calls have ended. There are no receive buffers after rst_i.
//
// Order: one outstanding call. Latency: 2 cycles for a time-out, 8 if one word is read, 14 plus 10 per receive buffer to set those, if the exchange memory
// answers within 3. Throughput: one call in that time. Storage: a few registers.
// Outputs depend only on registers. Critical path: a comparison of 16 bits.
module tw_configuration
  import tw_mover_pkg::*;
  import tw_matcher_pkg::settings_t;
  import tw_call_pkg::*;
#(
    parameter int unsigned Buffers     = 16,   /// maximum number of receive buffers, 2 to 64
    parameter int unsigned MostPackets = 64,   /// per receive buffer
    parameter int unsigned PacketBytes = 4096  /// maximum payload of a packet, a multiple of 64
) (
    input logic clk_i,
    input logic rst_i,

    input  logic        config_valid_i,    /// a config call, while no other call is active; held until done
    input  logic [ 7:0] config_setting_i,
    input  logic [31:0] config_count_i,
    output logic        config_done_o,
    output logic [31:0] config_code_o,

    output logic        access_valid_o,  /// exchange memory, as in tw_exchange_ports
    input  logic        access_ready_i,
    output logic        access_write_o,
    output logic [31:0] access_at_o,
    input  logic        answer_valid_i,
    input  logic [31:0] answer_data_i,

    output logic     set_valid_o,    /// to tw_move_engine
    output setting_t set_o,
    output logic     empty_valid_o,  /// empties all receive buffers
    input  logic     empty_ready_i,

    output logic        clear_o,     /// resets the counts of messages and collectives
    output logic [ 6:0] buffers_o,
    output logic [ 9:0] grains_o,    /// 512-byte units of a receive buffer
    output logic [31:0] time_out_o   /// microseconds; 0: none
);
  if (Buffers < 2 || Buffers > 64) begin : check_buffers
    $error("tw_configuration: Buffers must be 2 to 64");
  end

  localparam int unsigned GrainBits = 9;  // log2 of a grain's bytes
  localparam int unsigned MostGrains = MostPackets * PacketBytes > 512 << GrainBits ? 512 : MostPackets * PacketBytes >> GrainBits;
  localparam logic [12:0] BufferBytes = 13'h4;
  localparam logic [12:0] FirstAddress = 13'hC;  // of a receive buffer
  localparam logic [12:0] Configured = 13'h1FF4;

  typedef enum logic [3:0] {
    Start,
    Idle,
    Ask,
    Answer,
    Judge,
    Compare,
    Sizes,
    Empty,
    Mark,  // as not configured
    Done
  } state_e;
  typedef enum logic [1:0] {
    Count,
    Bytes,
    Low,  // half of an address
    High
  } word_e;

  state_e state_q;
  word_e word_q;
  logic [12:0] at_q;
  logic [31:0] data_q, low_q, eager_q, code_q;
  logic [6:0] count_q, buffer_q;
  logic [15:0] words_q;
  logic starts_q;
  wire is_reset = config_setting_i == 8'd0;
  wire is_enable = config_setting_i == 8'd1;
  wire is_eager = config_setting_i == 8'd3;
  wire count_fits = data_q[31:7] == 0 && 32'(data_q[6:0]) <= Buffers && data_q[6:0] != 7'd1;
  wire bytes_fit = data_q[31:20] == 0 && data_q[GrainBits-1:0] == 0 && 32'(data_q[19:GrainBits]) <= MostGrains;

  // Limits: the call's count is compared with the size of a receive buffer, or with the limit of eager messages.
  wire [31:0] limit = is_eager ? data_q : eager_q;
  logic low_less_q, low_same_q, high_less_q, high_same_q;
  wire less = high_less_q || (high_same_q && low_less_q);
  wire same = high_same_q && low_same_q;

  assign config_done_o = state_q == Done;
  assign config_code_o = code_q;
  assign access_valid_o = state_q == Ask || state_q == Mark;
  assign access_write_o = state_q == Mark;
  assign access_at_o = state_q == Mark ? 32'(Configured) : 32'(at_q);
  assign empty_valid_o = state_q == Empty;
  assign clear_o = state_q == Sizes && (starts_q || is_reset);

  settings_t sizes;
  assign sizes = '{last_buffer: count_q == 0 ? '0 : 8'(count_q) - 8'd1, buffer_words: words_q, packet_words: 8'(PacketBytes / 64)};
  wire stores = state_q == Judge && word_q == High;
  assign set_valid_o = stores || state_q == Sizes;
  assign set_o = '{
          kind: state_q == Sizes ? SetSizes : SetBuffer,
          index: 8'(buffer_q),
          value: state_q == Sizes ? 96'(sizes) : 96'({data_q, low_q})
      };

  always_ff @(posedge clk_i) begin
    low_less_q  <= config_count_i[15:0] < limit[15:0];
    low_same_q  <= config_count_i[15:0] == limit[15:0];
    high_less_q <= config_count_i[31:16] < limit[31:16];
    high_same_q <= config_count_i[31:16] == limit[31:16];
    unique case (state_q)
      Start: begin
        starts_q <= 1'b1;
        buffer_q <= '0;
        count_q  <= '0;
        words_q  <= '0;
      end
      Idle: begin
        starts_q <= 1'b0;
        code_q   <= '0;
        buffer_q <= '0;
        word_q   <= is_eager ? Bytes : Count;
        at_q     <= is_eager ? BufferBytes : '0;
        if (config_valid_i && is_reset) begin
          count_q <= '0;
          words_q <= '0;
        end
        if (config_valid_i && !(config_setting_i inside {8'd0, 8'd1, 8'd2, 8'd3, 8'd4})) code_q <= CodeNotImplemented;
      end
      Answer: data_q <= answer_data_i;
      Judge: begin
        unique case (word_q)
          Count: begin
            word_q <= Bytes;
            at_q   <= BufferBytes;
            if (is_enable && !count_fits) code_q <= CodeSize;
          end
          Bytes: begin
            word_q <= Low;
            at_q   <= FirstAddress;
            if (is_enable && !bytes_fit) code_q <= CodeSize;
          end
          Low: begin
            word_q <= High;
            at_q   <= at_q + 13'd4;
            low_q  <= data_q;
          end
          default: begin
            word_q   <= Low;
            at_q     <= at_q + 13'd24;
            buffer_q <= buffer_q + 7'd1;
          end
        endcase
        if (word_q == Count) low_q <= data_q;
        if (word_q == Bytes && is_enable && bytes_fit && code_q == 0) begin
          count_q <= low_q[6:0];
          words_q <= data_q[21:6];
        end
      end
      Compare: begin
        if (is_eager ? less : less || same) code_q <= is_eager ? CodeEagerLimit : CodeRendezvousLimit;
      end
      default: ;
    endcase
    if (rst_i) begin
      state_q <= Start;
      buffers_o <= '0;
      grains_o <= '0;
      time_out_o <= '0;
      eager_q <= '0;
    end else begin
      if (state_q == Sizes) begin
        buffers_o <= count_q;
        grains_o  <= words_q[12:3];
        if (is_reset || starts_q) time_out_o <= '0;
      end
      if (state_q == Idle && config_valid_i && config_setting_i == 8'd2) time_out_o <= config_count_i;
      if (state_q == Compare && is_eager) eager_q <= config_count_i;
      unique case (state_q)
        Start: state_q <= Sizes;
        Idle:
        if (config_valid_i)
          unique case (config_setting_i)
            8'd0: state_q <= Sizes;
            8'd1, 8'd3: state_q <= Ask;
            8'd4: state_q <= Judge;
            default: state_q <= Done;
          endcase
        Ask: if (access_ready_i) state_q <= Answer;
        Answer: if (answer_valid_i) state_q <= Judge;
        Judge:
        if (!is_enable) state_q <= Compare;
        else
          unique case (word_q)
            Count: state_q <= Ask;
            Bytes: state_q <= !bytes_fit || code_q != 0 ? Done : low_q[6:0] == 0 ? Sizes : Ask;
            Low: state_q <= Ask;
            default: state_q <= buffer_q + 7'd1 == count_q ? Sizes : Ask;
          endcase
        Compare: state_q <= Done;
        Sizes: state_q <= Empty;
        Empty: if (empty_ready_i) state_q <= starts_q ? Idle : is_reset ? Mark : Done;
        Mark: if (access_ready_i) state_q <= Done;
        default: state_q <= Idle;
      endcase
    end
  end
endmodule
