"""The addresses of the pages."""

from django.urls import path

from shop import views

urlpatterns = [
    path("orders/<str:order_id>", views.show),
    path("orders/<str:order_id>/checkout", views.checkout),
    path("webhooks", views.webhooks),
]
