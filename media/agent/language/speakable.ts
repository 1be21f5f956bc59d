const CODE_FENCE = /```[^\n]*\n?/g
const IMAGE_OR_LINK = /!?\[([^[\]]*)\]\([^()]*\)/g
const BARE_URL = /\bhttps?:\/\/\S+/gi
/** HTML and SSML tags that models write. Other words in angle brackets are text. */
const TAG =
  /<\/?(?:a|b|br|break|code|div|em|emphasis|h[1-6]|i|li|ol|p|phoneme|pre|prosody|s|say-as|span|speak|strong|sub|u|ul|voice)(?:\s[^<>]*)?\/?>/gi
const HEADING = /^\s{0,3}#{1,6}\s+/gm
const QUOTE = /^\s{0,3}>\s?/gm
const BULLET = /^[ \t]*[-*+•]\s+/gm
const RULE = /^[ \t]*(?:[-*_][ \t]*){3,}$/gm
const EMPHASIS = /(\*\*|__|~~|\*|`)/g
const UNDERSCORES = /(^|\s)_{1,40}|_{1,40}(?=\s|[.,;:!?]|$)/g
const TABLE_BAR = /\|/g
/** Our own note in the context, in case a model copies it. */
const NOTE = /\[interrupted[^[\]]*\]/gi
/** Emoji with joiners, variation selectors and skin tones. Digits, # and * also have the Emoji property. */
const EMOJI =
  /[\p{Extended_Pictographic}\u{1F1E6}-\u{1F1FF}\u{1F3FB}-\u{1F3FF}\u{FE0F}\u{20E3}\u{E0020}-\u{E007F}]/gu
/** A zero-width joiner between emoji. Inside Indic words it shapes letters and must stay. */
const LONE_JOINER = /(?<![\p{L}\p{M}])\u200D/gu

/**
 * Returns the speakable part of a model's text on one line, without Markdown, emoji and URLs. Empty when
 * nothing is left.
 */
export function speakable(text: string): string {
  const plain = text
    .replace(CODE_FENCE, ' ')
    .replace(IMAGE_OR_LINK, '$1')
    .replace(TAG, ' ')
    .replace(BARE_URL, ' ')
    .replace(NOTE, ' ')
    .replace(HEADING, '')
    .replace(QUOTE, '')
    .replace(RULE, ' ')
    .replace(BULLET, '')
    .replace(EMPHASIS, '')
    .replace(UNDERSCORES, '$1')
    .replace(TABLE_BAR, ' ')
    .replace(EMOJI, '')
    .replace(LONE_JOINER, '')
    .replace(/\s+/g, ' ')
    .trim()
  return /[\p{L}\p{N}]/u.test(plain) ? plain : ''
}
