/**
 * Texts that Whisper models produce for silence: subtitles from their training data, which callers do not say on the telephone.
 * Compared without case and punctuation. Single words ("you", "music") are not among them: callers answer with them.
 */
const HALLUCINATIONS = new Set([
  'thank you for watching',
  'thanks for watching',
  'thank you so much for watching',
  'please subscribe',
  'like and subscribe',
  'please like and subscribe',
  'subtitles by the amara org community',
  'transcription by castingwords',
])

/** A description of the sound instead of words: "[BLANK_AUDIO]", "(music)", "*coughs*". */
const DESCRIPTION = /^(?:\[[^\]]*\]|\([^)]*\)|\*[^*]*\*)$/

/** Returns the trimmed text, or an empty one for a text that the model makes of silence. */
export function withoutHallucination(text: string): string {
  const trimmed = text.trim()
  const bare = trimmed
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, ' ')
    .trim()
  return bare === '' || DESCRIPTION.test(trimmed) || HALLUCINATIONS.has(bare) ? '' : trimmed
}
