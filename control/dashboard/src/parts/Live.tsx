import { useLocation } from '@tanstack/react-router'
import { useTranslations } from 'use-intl'
import { useLive } from '../live.js'

/** Keeps the page up to date, and says when it does not. */
export function Live() {
  const t = useTranslations('problem')
  const { pathname, search } = useLocation()
  const callId = /\/calls\/(call_\w+)/.exec(pathname)?.[1] ?? search.call ?? null
  return useLive(callId) ? <p role="status">{t('live')}</p> : null
}
