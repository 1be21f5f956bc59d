import { notifications } from '@mantine/notifications'
import { useTranslations } from 'use-intl'

/** Returns a function that shows a short message, for what worked. */
export function useToast(): (message: string) => void {
  const t = useTranslations('common')
  return (message) => {
    notifications.show({ message, closeButtonProps: { 'aria-label': t('close') } })
  }
}
