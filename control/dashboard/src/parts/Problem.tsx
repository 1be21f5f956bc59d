import { Alert, Button, Group, Stack, Text, Title } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { Component, type ReactNode } from 'react'
import { useTranslations } from 'use-intl'
import { ParleyError } from '../../../../clients/typescript/errors.js'

/** Shows what the service refused, with the request to quote and what the user can do. */
export function Problem({ error, retry }: { readonly error: Error; readonly retry?: () => void }) {
  const t = useTranslations()
  const refused = error instanceof ParleyError
  return (
    <Alert color="red" title={t('problem.title')} role="alert">
      <Stack gap="xs">
        <Text size="sm">{refused ? error.message : t('problem.offline')}</Text>
        {refused &&
          issuesOf(error).map((issue) => (
            <Text size="sm" key={issue}>
              {issue}
            </Text>
          ))}
        <Group gap="sm">
          {retry !== undefined && (
            <Button size="xs" variant="default" onClick={retry}>
              {t('common.retry')}
            </Button>
          )}
          {refused && error.requestId !== null && (
            <Text size="xs">{t('common.requestId', { id: error.requestId })}</Text>
          )}
        </Group>
      </Stack>
    </Alert>
  )
}

/** Returns the faulty fields that the service names, a line each. */
function issuesOf({ details }: ParleyError): readonly string[] {
  if (!Array.isArray(details.issues)) return []
  return details.issues.flatMap((issue: { readonly path?: unknown; readonly reason?: unknown }) =>
    typeof issue.path === 'string' ? [`${issue.path}: ${String(issue.reason ?? '')}`] : [],
  )
}

export function Missing() {
  const t = useTranslations('problem')
  return (
    <main className="plain">
      <Title order={1}>{t('missing')}</Title>
      <Link to="/">{t('home')}</Link>
    </main>
  )
}

/** Keeps a failed part from taking the page with it. */
export class Boundary extends Component<
  { readonly fallback: ReactNode; readonly children: ReactNode },
  { readonly failed: boolean }
> {
  override state = { failed: false }

  static getDerivedStateFromError() {
    return { failed: true }
  }

  override render() {
    return this.state.failed ? this.props.fallback : this.props.children
  }
}
