//go:build desktop

package app

/*
#cgo pkg-config: gtk+-3.0
#include <gtk/gtk.h>

static gboolean stand_still(gpointer unused) {
	GtkSettings *settings = gtk_settings_get_default();
	if (settings != NULL) g_object_set(settings, "gtk-cursor-blink-time", G_MAXINT, NULL);
	return G_SOURCE_REMOVE;
}

static void stop_blinking(void) { g_idle_add(stand_still, NULL); }
*/
import "C"

// stopBlinking has the text cursor stand still: WebKitGTK draws the whole window again for each
// blink, also of a cursor that cannot be seen, and for as long as the window is there; without a
// graphics card that is 4 % of a processor for nothing. The editor's own cursor blinks for a while
// on its own. It is told to blink once in some days, as WebKitGTK 2.50 has its page draw sixty
// times a second where blinking is off.
func stopBlinking() { C.stop_blinking() }
