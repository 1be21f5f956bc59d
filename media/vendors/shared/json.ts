import { parseForeignJson } from '../../base/foreign-text.js'

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Parses a JSON object; returns null for anything else. */
export function parseObject(text: string): Record<string, unknown> | null {
  try {
    const parsed: unknown = parseForeignJson(text)
    return isRecord(parsed) ? parsed : null
  } catch {
    return null
  }
}
