import type { Dated } from '../config/policy-file.js'

/** Returns whether a rule applies on an ISO day (IST). */
export function appliesOn({ effectiveFrom, effectiveTo }: Dated, day: string): boolean {
  return effectiveFrom <= day && (effectiveTo === undefined || day < effectiveTo)
}

/** Returns the rule that applies on an ISO day (IST), or null. */
export function ruleOn<T extends Dated>(rules: readonly T[], day: string): T | null {
  return rules.find((rule) => appliesOn(rule, day)) ?? null
}
