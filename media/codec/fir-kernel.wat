;; The inner loops of the resampler: a polyphase FIR filter with SIMD.
;;
;; `node deploy/build-wasm.mjs` compiles this file to fir-kernel-wasm.ts. The memory layout is the one of
;; fir-kernel.ts, in bytes:
;;        0  line    history and input as f32, (768 + 2048 + 16) * 4
;;    11328  input   i16, (2048 + 16) * 2
;;    15456  output  i16, (2048 * 6 + 16) * 2
;;    40064  rows    f32 coefficients of all filters
(module
  (memory (export "memory") 32)
  (func (export "run")
    (param $samples i32)    ;; input samples
    (param $taps i32)       ;; coefficients per phase, a multiple of eight
    (param $rows i32)       ;; address of the coefficients
    (param $count i32)      ;; output samples, at least one
    (param $index i32)      ;; line index of the first output
    (param $phase i32)      ;; its phase
    (param $stepIndex i32)  ;; added to index per output
    (param $stepPhase i32)  ;; added to phase per output
    (param $up i32)         ;; number of phases
    (local $from i32) (local $row i32) (local $left i32) (local $out i32)
    (local $sum f32)
    (local $even v128) (local $odd v128)

    ;; Convert the input to f32 behind the history: line[taps - 1 ...]. Four samples per turn.
    (local.set $from (i32.const 11328))
    (local.set $out
      (i32.add
        (i32.mul (i32.sub (local.get $taps) (i32.const 1)) (i32.const 4))
        (i32.const 0)))
    (local.set $left (local.get $samples))
    (loop
      (v128.store align=4
        (local.get $out)
        (f32x4.convert_i32x4_s (v128.load16x4_s align=2 (local.get $from))))
      (local.set $out (i32.add (local.get $out) (i32.const 16)))
      (local.set $from (i32.add (local.get $from) (i32.const 8)))
      (br_if 0
        (i32.ge_s
          (local.tee $left (i32.sub (local.get $left) (i32.const 4)))
          (i32.const 1))))

    ;; One output per turn: the row of its phase times the line from its index on.
    (local.set $out (i32.const 15456))
    (loop
      (local.set $from
        (i32.add (i32.mul (local.get $index) (i32.const 4)) (i32.const 0)))
      (local.set $row
        (i32.add
          (i32.mul (i32.mul (local.get $phase) (local.get $taps)) (i32.const 4))
          (local.get $rows)))
      (local.set $even (v128.const i32x4 0 0 0 0))
      (local.set $odd (v128.const i32x4 0 0 0 0))
      (local.set $left (local.get $taps))
      (loop
        (local.set $even
          (f32x4.add
            (local.get $even)
            (f32x4.mul (v128.load align=4 (local.get $from)) (v128.load align=4 (local.get $row)))))
        (local.set $odd
          (f32x4.add
            (local.get $odd)
            (f32x4.mul
              (v128.load offset=16 align=4 (local.get $from))
              (v128.load offset=16 align=4 (local.get $row)))))
        (local.set $from (i32.add (local.get $from) (i32.const 32)))
        (local.set $row (i32.add (local.get $row) (i32.const 32)))
        (br_if 0 (local.tee $left (i32.sub (local.get $left) (i32.const 8)))))
      (local.set $even (f32x4.add (local.get $even) (local.get $odd)))
      ;; Clamp to 16 bits and round to the nearest integer.
      (local.set $sum
        (f32.nearest
          (f32.max
            (f32.min
              (f32.add
                (f32.add (f32x4.extract_lane 0 (local.get $even)) (f32x4.extract_lane 1 (local.get $even)))
                (f32.add (f32x4.extract_lane 2 (local.get $even)) (f32x4.extract_lane 3 (local.get $even))))
              (f32.const 32767))
            (f32.const -32768))))
      (i32.store16 (local.get $out) (i32.trunc_f32_s (local.get $sum)))
      (local.set $out (i32.add (local.get $out) (i32.const 2)))
      (local.set $index (i32.add (local.get $index) (local.get $stepIndex)))
      (local.set $phase (i32.add (local.get $phase) (local.get $stepPhase)))
      (if (i32.ge_s (local.get $phase) (local.get $up))
        (then
          (local.set $phase (i32.sub (local.get $phase) (local.get $up)))
          (local.set $index (i32.add (local.get $index) (i32.const 1)))))
      (br_if 0 (local.tee $count (i32.sub (local.get $count) (i32.const 1)))))))
