/**
 * Texts that Whisper models produce for silence: subtitles from their training data. Compared without case and
 * punctuation.
 */
const HALLUCINATIONS = new Set([
  'you',
  'thank you for watching',
  'thanks for watching',
  'thank you so much for watching',
  'please subscribe',
  'like and subscribe',
  'please like and subscribe',
  'subtitles by the amara org community',
  'transcription by castingwords',
  'silence',
  'blank audio',
  'music',
])

/** Returns the trimmed text, or an empty one for a text that the model makes of silence. */
export function withoutHallucination(text: string): string {
  const trimmed = text.trim()
  const bare = trimmed
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, ' ')
    .trim()
  return bare === '' || HALLUCINATIONS.has(bare) ? '' : trimmed
}
