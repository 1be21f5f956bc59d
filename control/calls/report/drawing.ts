import type { Peaks } from '../../../media/recording/peaks.js'

/** Content of a call's drawing. Times are session time (ms; 0 = media connected). */
export interface CallDrawing {
  readonly title: string
  readonly facts: readonly string[]
  readonly durationMs: number
  /** Left channel: caller; right channel: our side. Null draws the turns without a waveform. */
  readonly peaks: Peaks | null
  readonly turns: readonly {
    readonly speaker: 'caller' | 'agent' | 'human'
    readonly text: string
    readonly startMs: number
    readonly endMs: number
    /** Time at which the caller's interruption stopped the turn. */
    readonly cutAtMs: number | null
  }[]
  /** From the end of the caller's speech to the first packet of the reply. */
  readonly replies: readonly { readonly fromMs: number; readonly toMs: number }[]
  readonly marks: readonly {
    readonly kind: 'digit' | 'failure' | 'resumed'
    readonly atMs: number
    readonly text: string
  }[]
}

const WIDTH = 1200
const MARGIN = 60
const PLOT = WIDTH - 2 * MARGIN
const HEAD = 96
const ROW = 250
/** Time that one row shows (ms). Long calls get longer rows, so that there are at most `MAX_ROWS`. */
const ROW_MS = 30_000
const MAX_ROWS = 60
/** Half the height of a waveform. */
const WAVE = 30
const LANES = { caller: 44, agent: 186, human: 186 } as const
const BOX = 18
/** Approximate width of a character in the turns' font. */
const LETTER = 5.6
const MAX_TEXT = 400

const STYLE = `
text { font: 10px system-ui, sans-serif; fill: #1f2933 }
.title { font-size: 15px; font-weight: 600 } .fact, .tick { fill: #616e7c }
.axis { stroke: #cbd2d9 } .grid { stroke: #eef1f4 }
.caller { fill: #2f7de1 } .agent { fill: #12a37f } .human { fill: #a15bd6 }
.box { fill-opacity: 0.16; stroke-opacity: 0.7 } .wave { fill-opacity: 0.75 }
.box.caller { stroke: #2f7de1 } .box.agent { stroke: #12a37f } .box.human { stroke: #a15bd6 }
.cut { stroke: #d64545; stroke-width: 2 } .cuttext { fill: #d64545; font-weight: 600 }
.reply { stroke: #b7791f; stroke-width: 1.2 } .replytext { fill: #8d5b0f }
.digit { fill: #243b53 } .digittext { fill: #fff; text-anchor: middle } .note { fill: #9b4dca }
`

/**
 * Draws a call as one self-contained SVG. Each row is a stretch of time: the caller's waveform above and ours
 * below, with turns, interruptions, reply delays and DTMF digits. Transcripts are escaped: they only ever
 * appear as text.
 */
export function drawCall(call: CallDrawing): string {
  const rowMs = Math.max(ROW_MS, Math.ceil(call.durationMs / MAX_ROWS / 10_000) * 10_000)
  const rows = Math.max(1, Math.ceil(call.durationMs / rowMs))
  const height = HEAD + rows * ROW + 12
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" role="img">`,
    `<title>${escaped(call.title)}</title>`,
    `<style>${STYLE}</style>`,
    `<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>`,
    `<text class="title" x="${MARGIN}" y="30">${escaped(call.title)}</text>`,
    `<text class="fact" x="${MARGIN}" y="50">${escaped(call.facts.join('   '))}</text>`,
    legend(),
  ]
  // Scaled to the loudest moment, because telephone audio is quiet.
  const loudest = (call.peaks?.data ?? []).reduce((most, value) => Math.max(most, Math.abs(value)), 16)
  for (let row = 0; row < rows; row++) {
    parts.push(drawRow(call, row * rowMs, rowMs, HEAD + row * ROW, WAVE / loudest))
  }
  parts.push('</svg>', '')
  return parts.join('\n')
}

function legend(): string {
  const items = [
    ['caller', 'caller'],
    ['agent', 'agent'],
    ['human', 'person of a transfer'],
  ] as const
  const boxes = items.map(([name, label], i) => {
    const x = MARGIN + i * 110
    return `<rect class="${name}" x="${x}" y="64" width="10" height="10"/><text x="${x + 15}" y="73">${label}</text>`
  })
  const x = MARGIN + 370
  return [
    ...boxes,
    `<line class="cut" x1="${x}" x2="${x}" y1="63" y2="75"/><text x="${x + 8}" y="73">interruption</text>`,
    `<line class="reply" x1="${x + 90}" x2="${x + 112}" y1="69" y2="69"/><text x="${x + 118}" y="73">waiting for the reply</text>`,
    `<circle class="digit" cx="${x + 246}" cy="69" r="6"/><text x="${x + 257}" y="73">key pressed</text>`,
  ].join('\n')
}

function drawRow(call: CallDrawing, fromMs: number, rowMs: number, top: number, scale: number): string {
  const toMs = fromMs + rowMs
  const x = (ms: number) => round(MARGIN + ((Math.min(Math.max(ms, fromMs), toMs) - fromMs) / rowMs) * PLOT)
  const within = (ms: number) => ms >= fromMs && ms < toMs
  const parts = [
    `<g transform="translate(0 ${top})">`,
    axis(fromMs, rowMs, Math.min(toMs, call.durationMs), x),
  ]
  if (call.peaks !== null) {
    parts.push(wave(call.peaks, 0, fromMs, rowMs, LANES.caller + BOX + WAVE + 4, scale, 'caller'))
    parts.push(wave(call.peaks, 1, fromMs, rowMs, LANES.agent - WAVE - 4, scale, 'agent'))
  }
  for (const turn of call.turns) {
    // A turn that crosses the end of a row continues in the next one.
    if (turn.endMs < fromMs || turn.startMs >= toMs || (turn.endMs === fromMs && turn.startMs < fromMs))
      continue
    const left = x(turn.startMs)
    const width = Math.max(2, round(x(turn.endMs) - left))
    const y = LANES[turn.speaker]
    const begins = within(turn.startMs)
    parts.push(
      `<g class="turn"${begins ? ` data-speaker="${turn.speaker}"` : ''}><title>${escaped(turn.text.slice(0, MAX_TEXT))}</title>`,
      `<rect class="box ${turn.speaker}" x="${left}" y="${y}" width="${width}" height="${BOX}" rx="3"/>`,
      `<text x="${left + 4}" y="${y + 13}">${escaped(fitting(turn.text, width - 8))}</text></g>`,
    )
    if (turn.cutAtMs !== null && within(turn.cutAtMs)) {
      const at = x(turn.cutAtMs)
      parts.push(
        `<line class="cut" x1="${at}" x2="${at}" y1="${LANES.caller}" y2="${LANES.agent + BOX}"/>`,
        `<text class="cuttext" x="${at + 4}" y="${LANES.agent + BOX + 12}">interrupted</text>`,
      )
    }
  }
  for (const { fromMs: begin, toMs: end } of call.replies) {
    if (!within(end)) continue
    const y = LANES.agent + BOX + 20
    parts.push(
      `<line class="reply" x1="${x(begin)}" x2="${x(end)}" y1="${y}" y2="${y}"/>`,
      `<text class="replytext" x="${x(end) + 3}" y="${y + 4}">${Math.round(end - begin)} ms</text>`,
    )
  }
  for (const mark of call.marks) if (within(mark.atMs)) parts.push(drawMark(mark, x(mark.atMs)))
  parts.push('</g>')
  return parts.join('\n')
}

function drawMark(mark: CallDrawing['marks'][number], x: number): string {
  if (mark.kind === 'digit') {
    const y = LANES.caller - 12
    return `<circle class="digit" cx="${x}" cy="${y}" r="7"/><text class="digittext" x="${x}" y="${y + 3.5}">${escaped(mark.text)}</text>`
  }
  return `<line class="axis" x1="${x}" x2="${x}" y1="${LANES.caller - 14}" y2="${LANES.caller}"/><text class="note" x="${x + 3}" y="${LANES.caller - 6}">${escaped(mark.text.slice(0, 60))}</text>`
}

function axis(fromMs: number, rowMs: number, endMs: number, x: (ms: number) => number): string {
  const parts: string[] = []
  const stepMs = rowMs <= 30_000 ? 1000 : 5000
  for (let ms = fromMs; ms <= endMs; ms += stepMs) {
    const named = (ms - fromMs) % (5 * stepMs) === 0
    parts.push(
      `<line class="${named ? 'axis' : 'grid'}" x1="${x(ms)}" x2="${x(ms)}" y1="22" y2="${LANES.agent + BOX}"/>`,
    )
    if (named) parts.push(`<text class="tick" x="${x(ms) + 3}" y="18">${clock(ms)}</text>`)
  }
  return parts.join('\n')
}

/** Draws one channel of the waveform as a filled outline. */
function wave(
  peaks: Peaks,
  channel: number,
  fromMs: number,
  rowMs: number,
  middle: number,
  scale: number,
  name: 'caller' | 'agent',
): string {
  if (channel >= peaks.channels) return ''
  const perMs = peaks.sample_rate / peaks.samples_per_pixel / 1000
  const first = Math.floor(fromMs * perMs)
  const last = Math.min(peaks.length, Math.ceil((fromMs + rowMs) * perMs))
  const upper: string[] = []
  const lower: string[] = []
  for (let pixel = first; pixel < last; pixel++) {
    const x = round(MARGIN + ((pixel / perMs - fromMs) / rowMs) * PLOT)
    const slot = 2 * (pixel * peaks.channels + channel)
    upper.push(`${x} ${round(middle - (peaks.data[slot + 1] ?? 0) * scale)}`)
    lower.push(`${x} ${round(middle - (peaks.data[slot] ?? 0) * scale)}`)
  }
  if (upper.length === 0) return ''
  return `<path class="wave ${name}" d="M${upper.join('L')}L${lower.reverse().join('L')}Z"/>`
}

function fitting(text: string, width: number): string {
  const letters = Math.floor(width / LETTER)
  if (letters < 2) return ''
  return text.length <= letters ? text : `${text.slice(0, letters - 1)}…`
}

function clock(ms: number): string {
  const seconds = Math.floor(ms / 1000)
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
}

/**
 * Escapes text for XML 1.0: markup as entities; control characters and lone surrogates, which XML forbids, as
 * question marks.
 */
function escaped(text: string): string {
  let out = ''
  for (const character of text) out += ENTITIES[character] ?? (isAllowed(character) ? character : '?')
  return out
}

function isAllowed(character: string): boolean {
  const code = character.codePointAt(0) ?? 0
  if (code < 0x20) return code === 0x09 || code === 0x0a || code === 0x0d
  return (
    !(code >= 0x7f && code < 0xa0) && !(code >= 0xd800 && code < 0xe000) && code !== 0xfffe && code !== 0xffff
  )
}
