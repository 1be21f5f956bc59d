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
 * Returns the calling hours of an organization after a change. A missing side is that of `widest`. Hours
 * can be narrowed within `widest`, never widened, and must not be empty.
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
      message: `The calling hours must not start before minute ${widest.startMinute} of the day (IST).`,
    }
  }
  if (endMinute > widest.endMinute) {
    return {
      path: 'endMinute',
      message: `The calling hours must not end after minute ${widest.endMinute} of the day (IST).`,
    }
  }
  if (startMinute >= endMinute) {
    return { path: 'endMinute', message: 'endMinute must be greater than startMinute.' }
  }
  return { startMinute, endMinute }
}
