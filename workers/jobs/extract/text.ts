import type { TextBlock } from '../../../media/knowledge/text-blocks.js'

/** Returns the paragraphs of a plain text. */
export function textBlocks(text: string): TextBlock[] {
  return text
    .split(/\r?\n[^\S\n]*\r?\n/)
    .map((paragraph) => paragraph.trim())
    .filter((paragraph) => paragraph !== '')
    .map((paragraph) => ({ text: paragraph, level: null, page: null }))
}
