import type { CallingWindow, WindowNarrowing } from '../compliance/calling-hours.js'

export interface NarrowingPatch {
  readonly startMinute?: number | undefined
  readonly endMinute?: number | undefined
}

export interface NarrowingProblem {
  readonly path: 'startMinute' | 'endMinute'
  readonly message: string
}

/**
 * An organization's own hours after a change; a side that was never narrowed is that of `widest`.
 * They must lie within it and leave something: hours can be narrowed, never widened.
 */
export function narrowCallingHours(
  current: WindowNarrowing | null,
  patch: NarrowingPatch,
  widest: Pick<CallingWindow, 'startMinute' | 'endMinute'>,
): WindowNarrowing | NarrowingProblem {
  const startMinute = patch.startMinute ?? current?.startMinute ?? widest.startMinute
  const endMinute = patch.endMinute ?? current?.endMinute ?? widest.endMinute
  if (startMinute < widest.startMinute) {
    return {
      path: 'startMinute',
      message: `Calls may not begin before minute ${widest.startMinute} of the day (IST).`,
    }
  }
  if (endMinute > widest.endMinute) {
    return { path: 'endMinute', message: `Calls must end by minute ${widest.endMinute} of the day (IST).` }
  }
  if (startMinute >= endMinute) {
    return { path: 'endMinute', message: 'The hours must begin before they end.' }
  }
  return { startMinute, endMinute }
}
