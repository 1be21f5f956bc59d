import type { TextBlock } from '../../../media/knowledge/text-blocks.js'

/**
 * Decodes a text file: by its byte order mark (UTF-8, UTF-16), as UTF-8 if it is valid, else as windows-1252
 * (WHATWG Encoding Standard).
 */
export function decodeText(bytes: Uint8Array): string {
  const [first, second] = bytes
  if (first === 0xff && second === 0xfe) return new TextDecoder('utf-16le').decode(bytes)
  if (first === 0xfe && second === 0xff) return new TextDecoder('utf-16be').decode(bytes)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return new TextDecoder('windows-1252').decode(bytes)
  }
}

/** Returns the paragraphs of a plain text. */
export function textBlocks(text: string): TextBlock[] {
  return text
    .split(/\r?\n[^\S\n]*\r?\n/)
    .map((paragraph) => paragraph.trim())
    .filter((paragraph) => paragraph !== '')
    .map((paragraph) => ({ text: paragraph, level: null, page: null }))
}
