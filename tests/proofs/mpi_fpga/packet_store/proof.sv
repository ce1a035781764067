// SPDX-License-Identifier: Apache-2.0
// Environment: a host puts packets of any size, for any process, into entries that it owns; units take available packets at any
// pace. The packets of each process, and the packets taken whose entries have not been returned to the host, are tracked in
// order. Any one flit is watched.
module packet_store_proof #(
    parameter int unsigned Units = 2,
    parameter int unsigned Processes = 2,
    parameter int unsigned Entries = 3,
    parameter int unsigned Flits = 2,
    parameter bit Rush = 1'b0,  // a process's packets may be taken in consecutive cycles
    localparam int unsigned ProcessWidth = Processes > 1 ? $clog2(Processes) : 1,
    localparam int unsigned EntryWidth = Entries > 1 ? $clog2(Entries) : 1,
    localparam int unsigned UnitWidth = Units > 1 ? $clog2(Units) : 1,
    localparam int unsigned CountWidth = $clog2(Entries + 1)
) (
    input logic clk_i,
    input logic rst_i,

    input logic                    put_i,
    input logic                    put_data_i,
    input logic [ProcessWidth-1:0] put_process_i,
    input logic [EntryWidth-1:0]   put_place_i,    // of a packet that begins
    input logic [2:0]              put_size_i,
    input logic                    watch_i,
    input logic                    take_i,
    input logic [ProcessWidth-1:0] take_process_i,
    input logic [UnitWidth-1:0]    take_unit_i,
    input logic [3:0]              take_pace_i,
    input logic                    free_ready_i
);
  logic ready, announce_valid, free_valid;
  logic [ProcessWidth-1:0] announce_process;
  logic [EntryWidth-1:0] free_place;
  logic [Units-1:0] host_valid;
  logic [Units-1:0][255:0] host_data;

  tw_reset_first surroundings (.*);

  // --- State of the entries: owned by the host, being filled, holding a packet of a process, taken

  logic [Entries-1:0] free_q;
  logic [Entries-1:0][2:0] size_q;
  logic open_q;
  logic [EntryWidth-1:0] open_place_q;
  logic [6:0] flit_q;  // index of the next flit of the packet that is written
  logic [Processes-1:0][Entries-1:0][EntryWidth-1:0] order_q;
  logic [Processes-1:0][CountWidth-1:0] count_q;
  logic [Entries-1:0][EntryWidth-1:0] taken_q;
  logic [Entries-1:0][UnitWidth-1:0] taker_q;
  logic [CountWidth-1:0] taken_count_q;

  wire tells = free_valid && free_ready_i;
  logic [Entries-1:0] free;  // entries that the host may fill at once
  always_comb for (int p = 0; p < int'(Entries); p++) free[p] = free_q[p] || (tells && 32'(free_place) == p);

  wire begins = put_i && ready && !open_q && 32'(put_place_i) < Entries && free[put_place_i] && 32'd1 << put_size_i <= Flits;
  wire puts = begins || (put_i && open_q);
  wire [EntryWidth-1:0] put_place = open_q ? open_place_q : put_place_i;
  wire [2:0] put_size = open_q ? size_q[open_place_q] : put_size_i;
  wire put_last = 8'(flit_q) + 8'd1 == 8'd1 << put_size;
  wire [ProcessWidth-1:0] put_process = 32'(put_process_i) < Processes ? put_process_i : '0;
  wire arrives = puts && put_last;

  logic [Units-1:0] idle;
  logic rests_q;  // a process's packet was taken in the cycle before
  logic [ProcessWidth-1:0] rests_process_q;
  wire [ProcessWidth-1:0] take_process = 32'(take_process_i) < Processes ? take_process_i : '0;
  wire [UnitWidth-1:0] take_unit = 32'(take_unit_i) < Units ? take_unit_i : '0;
  wire takes = take_i && count_q[take_process] != 0 && idle[take_unit] && take_pace_i != 0 &&
      (Rush || !rests_q || rests_process_q != take_process);
  wire [EntryWidth-1:0] front = order_q[take_process][0];

  tw_packet_store #(
      .Units(Units),
      .Processes(Processes),
      .Entries(Entries),
      .Flits(Flits)
  ) store (
      .clk_i,
      .rst_i,
      .ready_o(ready),
      .in_valid_i(puts),
      .in_data_i({255'd0, put_data_i}),
      .in_last_i(put_last),
      .in_process_i(put_process),
      .in_place_i(put_place),
      .announce_valid_o(announce_valid),
      .announce_process_o(announce_process),
      .take_valid_i(takes),
      .take_process_i(take_process),
      .take_unit_i(take_unit),
      .take_size_i(size_q[front]),
      .take_pace_i,
      .host_valid_o(host_valid),
      .host_data_o(host_data),
      .free_valid_o(free_valid),
      .free_ready_i,
      .free_place_o(free_place)
  );

  always_ff @(posedge clk_i) begin
    rests_q <= takes && !rst_i;
    rests_process_q <= take_process;
    if (begins) begin
      open_place_q <= put_place_i;
      size_q[put_place_i] <= put_size_i;
    end
    if (rst_i) begin
      free_q <= '1;
      open_q <= 1'b0;
      flit_q <= '0;
    end else begin
      free_q <= free & ~(begins ? Entries'(1) << put_place_i : '0);
      if (puts) open_q <= !put_last;
      if (puts) flit_q <= put_last ? '0 : flit_q + 1;
    end
  end

  for (genvar r = 0; r < Processes; r++) begin : queue
    wire comes_here = arrives && 32'(put_process) == r;
    wire leaves_here = takes && 32'(take_process) == r;
    wire [CountWidth-1:0] end_ = count_q[r] - CountWidth'(leaves_here);

    always_ff @(posedge clk_i) begin
      for (int i = 0; i < int'(Entries); i++) begin
        if (leaves_here && i + 1 < int'(Entries)) order_q[r][i] <= order_q[r][i+1];
        if (comes_here && 32'(end_) == i) order_q[r][i] <= put_place;
      end
      count_q[r] <= rst_i ? '0 : end_ + CountWidth'(comes_here);
    end
  end

  wire [CountWidth-1:0] taken_end = taken_count_q - CountWidth'(tells);
  always_ff @(posedge clk_i) begin
    for (int i = 0; i < int'(Entries); i++) begin
      if (tells && i + 1 < int'(Entries)) begin
        taken_q[i] <= taken_q[i+1];
        taker_q[i] <= taker_q[i+1];
      end
      if (takes && 32'(taken_end) == i) begin
        taken_q[i] <= front;
        taker_q[i] <= take_unit;
      end
    end
    taken_count_q <= rst_i ? '0 : taken_end + CountWidth'(takes);
  end

  // --- The watched flit, until its entry is returned to the host

  logic watched_q, word_q;
  logic [EntryWidth-1:0] place_q;
  logic [6:0] index_q;

  always_ff @(posedge clk_i) begin
    if (!watched_q) begin
      place_q <= put_place;
      index_q <= flit_q;
      word_q <= put_data_i;
    end
    if (rst_i) watched_q <= 1'b0;
    else if (!watched_q) watched_q <= puts && watch_i;
    else if (tells && free_place == place_q) watched_q <= 1'b0;
  end

  // --- Outputs

  logic arrived_q, stalled_q, finished;
  logic [ProcessWidth-1:0] arrived_process_q;
  logic [EntryWidth-1:0] stalled_place_q;

  logic [Units-1:0] reads_on;  // flits of its packet are still to come out after this cycle
  logic [Units-1:0][EntryWidth-1:0] from_q;
  assign finished = taken_count_q != 0 && !(reads_on[taker_q[0]] && from_q[taker_q[0]] == taken_q[0]);

  always_ff @(posedge clk_i) begin
    arrived_q <= arrives && !rst_i;
    arrived_process_q <= put_process;
    stalled_q <= free_valid && !free_ready_i && !rst_i;
    stalled_place_q <= free_place;

    if (!rst_i) begin
      announced : assert (announce_valid == arrived_q && (!arrived_q || announce_process == arrived_process_q));
      tells_what_was_read : assert (free_valid == finished && (!free_valid || free_place == taken_q[0]));
      waits_for_ready : assert (!stalled_q || (free_valid && free_place == stalled_place_q));
      room_for_places : assert (!takes || store.freed.in_ready_o);
      full : cover (32'(count_q[0]) == Entries);

      lemma_ready : assert (ready || (count_q == '0 && taken_count_q == 0 && !open_q && !watched_q && (&free_q)));
      lemma_clear : assert (32'(store.clear_q) < Processes || ready);
      lemma_flit : assert (open_q == (flit_q != 0) && 32'(flit_q) == 32'(store.in_flit_q) && 32'(flit_q) < Flits);
      lemma_open : assert (!open_q || (32'(open_place_q) < Entries && 8'(flit_q) < 8'd1 << size_q[open_place_q]));
      lemma_rests : assert (!ready || (rests_q == store.behind_q && (!rests_q || rests_process_q == store.behind_process_q)));
      lemma_counts : assert (32'(taken_count_q) <= Entries && 32'(store.freed.count_q) == 32'(taken_count_q) &&
          32'(store.freed.read_q) < Entries && 32'(store.freed.write_q) < Entries);
      lemma_watched : assert (!watched_q || (32'(place_q) < Entries && !free_q[place_q] && 8'(index_q) < 8'd1 << size_q[place_q] &&
          (!open_q || open_place_q != place_q || index_q < flit_q)));
    end
  end

  if (Entries > 1) begin : several
    always_ff @(posedge clk_i) begin
      if (!rst_i)
        behind_another : cover (watched_q && count_q[0] > 1 && order_q[0][1] == place_q && takes && arrives && put_process == 0);
    end
  end

  // Each entry is in exactly one of these states.
  for (genvar p = 0; p < Entries; p++) begin : place
    logic [7:0] times;
    always_comb begin
      times = 8'(free_q[p]) + 8'(open_q && 32'(open_place_q) == p);
      for (int i = 0; i < int'(Entries); i++) begin
        for (int r = 0; r < int'(Processes); r++) times += 8'(i < 32'(count_q[r]) && 32'(order_q[r][i]) == p);
        times += 8'(i < 32'(taken_count_q) && 32'(taken_q[i]) == p);
      end
    end

    always_ff @(posedge clk_i) begin
      if (!rst_i) begin
        in_one_place : assert (times == 1);
        lemma_size : assert (free_q[p] || 32'd1 << size_q[p] <= Flits);
      end
    end
  end

  for (genvar u = 0; u < Units; u++) begin : unit
    // Flit at_q comes out after wait_q more cycles.
    logic busy_q;
    logic [3:0] wait_q, pace_q;
    logic [6:0] at_q;

    wire out = busy_q && wait_q == 0;
    wire last = 8'(at_q) + 8'd1 == 8'd1 << size_q[from_q[u]];
    wire starts = takes && 32'(take_unit) == u;

    assign reads_on[u] = busy_q && !(out && last);
    assign idle[u] = !reads_on[u];

    always_ff @(posedge clk_i) begin
      if (starts) begin
        from_q[u] <= front;
        pace_q <= take_pace_i - 1;
        wait_q <= '0;
        at_q <= '0;
      end else begin
        wait_q <= out ? pace_q : wait_q - 1;
        at_q <= at_q + 7'(out);
      end
      busy_q <= !rst_i && (starts || reads_on[u]);
    end

    wire mine = watched_q && from_q[u] == place_q;
    wire [31:0] at = 32'(place_q) * Flits + 32'(index_q);

    logic is_taken;
    always_comb begin
      is_taken = 1'b0;
      for (int i = 0; i < int'(Entries); i++) is_taken |= i < 32'(taken_count_q) && taken_q[i] == from_q[u] && 32'(taker_q[i]) == u;
    end

    always_ff @(posedge clk_i) begin
      if (!rst_i) begin
        comes_when_due : assert (host_valid[u] == out);
        unaltered : assert (!out || !mine || at_q != index_q || host_data[u][0] == word_q);
        slowly : cover (out && mine && at_q == index_q && last && (Flits == 1 || pace_q == 2));

        lemma_kept : assert (!watched_q || store.unit[u].flits_q[at][0] == word_q);
        lemma_mine : assert (!reads_on[u] || is_taken);
        lemma_idle : assert (busy_q || store.unit[u].left_q == 0);
        lemma_reading : assert (!busy_q || (8'(at_q) < 8'd1 << size_q[from_q[u]] && 32'd1 << size_q[from_q[u]] <= Flits &&
            8'(store.unit[u].left_q) + 8'(at_q) + 8'(out) == 8'd1 << size_q[from_q[u]] && wait_q <= pace_q));
        lemma_pace : assert (!reads_on[u] || (store.unit[u].pace_q == pace_q && store.entry_q[u] == from_q[u] &&
            store.unit[u].wait_q == (out ? pace_q : wait_q - 4'd1) && 7'(store.unit[u].flit_q) == at_q + 7'(out)));
      end
    end
  end

  for (genvar i = 0; i < Entries; i++) begin : taken
    wire [31:0] sum = 32'(store.freed.read_q) + i;
    wire [31:0] at = sum < Entries ? sum : sum - Entries;

    always_ff @(posedge clk_i) begin
      if (!rst_i)
        lemma_word : assert (32'(taken_count_q) <= i || (store.freed.words_q[at] == {taker_q[i], taken_q[i]} &&
            32'(taken_q[i]) < Entries && 32'(taker_q[i]) < Units));
    end
  end

  for (genvar r = 0; r < Processes; r++) begin : packets
    wire pending = store.behind_q && 32'(store.behind_process_q) == r;
    wire [EntryWidth-1:0] head = store.came_q[r] == store.taken_q[r] ? store.first_came_q[r] :
        pending ? store.behind_place_q : store.first_behind_q[r];
    wire [EntryWidth-1:0] tail = order_q[r][count_q[r]-CountWidth'(1)];

    always_ff @(posedge clk_i) begin
      if (!rst_i) begin
        lemma_count : assert (32'(count_q[r]) <= Entries);
        lemma_clear : assert (ready || 32'(store.clear_q) <= r || (!store.filled_q[r] && !store.emptied_q[r]));
        lemma_filled : assert (!ready || (store.filled_q[r] != store.emptied_q[r]) == (count_q[r] != 0));
        lemma_head : assert (!ready || count_q[r] == 0 || (head == order_q[r][0] && store.tail_q[r] == tail));
      end
    end

    for (genvar i = 0; i < Entries; i++) begin : at
      always_ff @(posedge clk_i) begin
        if (!rst_i) begin
          lemma_place : assert (i >= 32'(count_q[r]) || 32'(order_q[r][i]) < Entries);
          if (i + 1 < int'(Entries))
            lemma_next : assert (i + 1 >= 32'(count_q[r]) || store.next_q[order_q[r][i]] == order_q[r][(i+1)%Entries]);
        end
      end
    end
  end
endmodule
