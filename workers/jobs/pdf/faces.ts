import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { inflateSync } from 'node:zlib'
import * as hb from 'harfbuzzjs'

export type Weight = 400 | 700

interface Font {
  readonly name: string
  /** Path below `@fontsource`, without weight. */
  readonly file: string
  /** Block of Unicode that only this font has. */
  readonly block: readonly [from: number, to: number] | null
}

const LATIN: Font = { name: 'latin', file: 'noto-sans/files/noto-sans-latin', block: null }

/** Fonts of Noto Sans (SIL Open Font License 1.1). */
const FONTS: readonly Font[] = [
  LATIN,
  { name: 'latin-ext', file: 'noto-sans/files/noto-sans-latin-ext', block: null },
  indic('devanagari', 0x0900),
  indic('bengali', 0x0980),
  indic('gurmukhi', 0x0a00),
  indic('gujarati', 0x0a80),
  indic('oriya', 0x0b00),
  indic('tamil', 0x0b80),
  indic('telugu', 0x0c00),
  indic('kannada', 0x0c80),
  indic('malayalam', 0x0d00),
]

function indic(name: string, from: number): Font {
  return { name, file: `noto-sans-${name}/files/noto-sans-${name}-${name}`, block: [from, from + 0x7f] }
}

/** One font in one weight. */
export interface Face {
  /** Unique name. */
  readonly name: string
  /** TrueType file. */
  readonly data: Buffer
  /** Units of the font per em. */
  readonly upem: number
  /** Returns true if the font has a glyph for the code point. */
  has(codePoint: number): boolean
  /** Returns the glyphs of a text in visual order, with positions in units of the font. */
  shape(text: string): readonly ShapedGlyph[]
}

export interface ShapedGlyph {
  readonly id: number
  /** Text of the glyph when text is copied from the page. */
  readonly codePoints: readonly number[]
  readonly xAdvance: number
  readonly yAdvance: number
  readonly xOffset: number
  readonly yOffset: number
}

/** A part of a text in one font. */
export interface FaceRun {
  readonly face: Face
  readonly text: string
}

const faces = new Map<string, Face>()

/** Returns a font, which is read once per thread. */
function faceOf({ name, file }: Font, weight: Weight): Face {
  const id = `${name} ${weight}`
  const known = faces.get(id)
  if (known !== undefined) return known
  const path = createRequire(import.meta.url).resolve(`@fontsource/${file}-${weight}-normal.woff`)
  const face = openFace(id, sfntOf(readFileSync(path)))
  faces.set(id, face)
  return face
}

function openFace(name: string, data: Buffer): Face {
  const font = new hb.Face(new hb.Blob(data))
  const shaper = new hb.Font(font)
  const covered = new Set(font.collectUnicodes())
  const codePointOf = new Map<number, number>()
  for (const codePoint of covered) {
    const id = shaper.nominalGlyph(codePoint)
    if (id !== undefined && !codePointOf.has(id)) codePointOf.set(id, codePoint)
  }
  return {
    name,
    data,
    upem: font.upem,
    has: (codePoint) => covered.has(codePoint),
    shape(text) {
      const buffer = new hb.Buffer()
      buffer.addText(text)
      buffer.guessSegmentProperties()
      hb.shape(shaper, buffer)
      const positions = buffer.getGlyphPositions()
      const infos = buffer.getGlyphInfos()
      return infos.flatMap(({ codepoint: id, cluster }, index) => {
        const position = positions[index]
        if (position === undefined) return []
        const { xAdvance, yAdvance, xOffset, yOffset } = position
        const nominal = codePointOf.get(id)
        const codePoints = nominal === undefined ? ligature(text, infos, index, cluster) : [nominal]
        return [{ id, codePoints, xAdvance, yAdvance, xOffset, yOffset }]
      })
    },
  }
}

/** Returns the code points of a cluster that is one glyph. Other glyphs without a character stand for none. */
function ligature(
  text: string,
  infos: readonly { readonly cluster: number }[],
  index: number,
  cluster: number,
): readonly number[] {
  if (infos[index - 1]?.cluster === cluster || infos[index + 1]?.cluster === cluster) return []
  const end = infos[index + 1]?.cluster ?? text.length
  return [...text.slice(cluster, end)].map((character) => character.codePointAt(0) ?? 0)
}

/** Stands for a character that no font has. */
const REPLACEMENT = '\ufffd'

/**
 * Splits a text into parts of one font. Characters that many scripts share, such as the danda and joiners,
 * stay with the font before them if it has them.
 */
export function faceRuns(text: string, weight: Weight): readonly FaceRun[] {
  const runs: { face: Face; text: string }[] = []
  for (const raw of text.replace(/\p{Cc}/gu, ' ')) {
    const last = runs.at(-1)
    const codePoint = raw.codePointAt(0) ?? 0
    const own = faceFor(codePoint, weight, last?.face ?? null)
    const face = own ?? faceOf(LATIN, weight)
    const character = own === null ? REPLACEMENT : raw
    if (last?.face === face) last.text += character
    else runs.push({ face, text: character })
  }
  return runs
}

function faceFor(codePoint: number, weight: Weight, before: Face | null): Face | null {
  if (isShared(codePoint) && before?.has(codePoint)) return before
  const only = FONTS.find(({ block }) => block !== null && codePoint >= block[0] && codePoint <= block[1])
  for (const font of only === undefined ? FONTS : [only]) {
    const face = faceOf(font, weight)
    if (face.has(codePoint)) return face
  }
  return null
}

/** Dandas, Vedic accents, joiners, the no-break space and the dotted circle. */
function isShared(codePoint: number): boolean {
  return (
    codePoint === 0x964 ||
    codePoint === 0x965 ||
    (codePoint >= 0x951 && codePoint <= 0x954) ||
    codePoint === 0x200c ||
    codePoint === 0x200d ||
    codePoint === 0xa0 ||
    codePoint === 0x25cc
  )
}

const WOFF_HEADER = 44
const WOFF_ENTRY = 20
const SFNT_HEADER = 12
const SFNT_ENTRY = 16

/** Converts a WOFF 1.0 file (https://www.w3.org/TR/WOFF/) to the TrueType file in it. */
function sfntOf(woff: Buffer): Buffer {
  const count = woff.readUInt16BE(12)
  const header = Buffer.alloc(SFNT_HEADER + SFNT_ENTRY * count)
  woff.copy(header, 0, 4, 8)
  const power = Math.floor(Math.log2(count))
  header.writeUInt16BE(count, 4)
  header.writeUInt16BE(2 ** power * SFNT_ENTRY, 6)
  header.writeUInt16BE(power, 8)
  header.writeUInt16BE((count - 2 ** power) * SFNT_ENTRY, 10)
  const parts: Buffer[] = [header]
  let offset = header.length
  for (let index = 0; index < count; index++) {
    const from = WOFF_HEADER + WOFF_ENTRY * index
    const to = SFNT_HEADER + SFNT_ENTRY * index
    const start = woff.readUInt32BE(from + 4)
    const packed = woff.readUInt32BE(from + 8)
    const length = woff.readUInt32BE(from + 12)
    const stored = woff.subarray(start, start + packed)
    const table = packed < length ? inflateSync(stored) : stored
    woff.copy(header, to, from, from + 4)
    woff.copy(header, to + 4, from + 16, from + 20)
    header.writeUInt32BE(offset, to + 8)
    header.writeUInt32BE(length, to + 12)
    const padding = Buffer.alloc(-length & 3)
    parts.push(table, padding)
    offset += length + padding.length
  }
  return Buffer.concat(parts)
}
